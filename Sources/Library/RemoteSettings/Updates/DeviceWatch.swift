#if canImport(Darwin)
import Foundation
import Network
#endif

extension UpdateChannel {
    /// Watches the app's life cycle and the device's network on Apple systems.
    ///
    /// Elsewhere the app calls ``RemoteSettingsService/pauseUpdates()`` and ``RemoteSettingsService/networkChanged()``.
    func deviceWatch() -> [Task<Void, Never>] {
        #if canImport(Darwin)
        // The notifications are given by name, so that neither UIKit nor AppKit is linked. If the system never
        // posts them, nothing happens.
        func watch(_ name: String, _ body: @escaping @Sendable (UpdateChannel) -> Void) -> Task<Void, Never> {
            Task { [weak self] in
                let notifications = NotificationCenter.default.notifications(named: Notification.Name(name))
                for await _ in notifications.map({ _ in () }) {
                    guard let self else { return }
                    body(self)
                }
            }
        }
        return [
            watch("UIApplicationDidEnterBackgroundNotification") { $0.set(isInBackground: true) },
            watch("UIApplicationWillEnterForegroundNotification") { $0.set(isInBackground: false) },
            watch("NSExtensionHostDidEnterBackgroundNotification") { $0.set(isInBackground: true) },
            watch("NSExtensionHostWillEnterForegroundNotification") { $0.set(isInBackground: false) },
            Task { [weak self] in
                // The first path is the current one.
                for await path in Self.networkPaths().dropFirst() where path.status == .satisfied {
                    guard let self else { return }
                    self.networkChanged()
                }
            },
        ]
        #else
        return []
        #endif
    }
}

#if canImport(Darwin)
extension UpdateChannel {
    /// The device's network paths. The monitor itself is a sequence of them since iOS 17.
    private static func networkPaths() -> AsyncStream<NWPath> {
        AsyncStream { continuation in
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { continuation.yield($0) }
            continuation.onTermination = { _ in monitor.cancel() }
            monitor.start(queue: DispatchQueue(label: "remote-settings.network-paths"))
        }
    }
}
#endif
