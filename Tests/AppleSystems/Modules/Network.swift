// swift-format-ignore-file
// The parts of Apple's module Network that this package uses. The sources are pages of
// developer.apple.com/documentation.
import Dispatch

/// network: nwpath
public struct NWPath: Equatable, Sendable {
    /// network: nwpath/status-swift.enum
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status  // network: nwpath/status-swift.property
}

/// network: nwpathmonitor
public final class NWPathMonitor: Sendable {
    public init() {}  // network: nwpathmonitor/init()
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {  // network: nwpathmonitor/pathupdatehandler
        get { nil }
        set {}
    }
    public func start(queue: DispatchQueue) {}  // network: nwpathmonitor/start(queue:)
    public func cancel() {}  // network: nwpathmonitor/cancel()
}

/// network: nwpathmonitor/iterator; since iOS 17
extension NWPathMonitor: AsyncSequence {
    public typealias Element = NWPath
    public struct Iterator: AsyncIteratorProtocol {
        public mutating func next() async -> NWPath? { nil }
    }
    public func makeAsyncIterator() -> Iterator { Iterator() }
}
