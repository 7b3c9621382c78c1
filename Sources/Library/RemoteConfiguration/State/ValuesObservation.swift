import Observation

/// A bridge that reports reads and changes of values to Swift's Observation, which is available on Apple systems since
/// iOS 17 and macOS 14.
package struct ValuesObservation: Sendable {
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
    package var registrar: ObservationRegistrar { present as? ObservationRegistrar ?? ObservationRegistrar() }
    #else
    package let registrar = ObservationRegistrar()

    package init() {}
    #endif
}
