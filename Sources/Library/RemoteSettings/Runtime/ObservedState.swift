import Observation

/// A state whose reads and changes are reported to Swift's Observation, which is available on Apple systems since iOS
/// 17 and macOS 14.
package final class ObservedState: Sendable {
    #if canImport(Darwin)
    /// The registrar; `nil` if the system has none.
    private let present: (any Sendable)?

    package init() {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *) {
            present = ObservationRegistrar()
        } else {
            present = nil
        }
    }

    @available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
    private var registrar: ObservationRegistrar { present as? ObservationRegistrar ?? ObservationRegistrar() }
    #else
    private let registrar = ObservationRegistrar()

    package init() {}
    #endif

    /// A property that represents the state.
    private var value: Bool { true }

    /// Reports a read. Call it before the state is read, so that no change is missed.
    package func willRead() {
        guard #available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *) else { return }
        registrar.access(self, keyPath: \.value)
    }

    /// Makes and reports a change.
    package func change<Result>(_ change: () -> Result) -> Result {
        guard #available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *) else { return change() }
        return registrar.withMutation(of: self, keyPath: \.value, change)
    }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension ObservedState: Observable {}
