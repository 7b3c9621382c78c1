#if canImport(Darwin)
import Foundation
import Network
#endif

extension UpdateChannel {
    /// Watches the app's life cycle and the device's network on Apple systems.
    ///
    /// On other systems, the app calls ``RemoteSettingsService/pauseUpdates()`` and
    /// ``RemoteSettingsService/networkChanged()``.
    func deviceWatch() -> [Task<Void, Never>] {
        #if canImport(Darwin)
        // The notifications are specified by name, so that neither UIKit nor AppKit has to be linked. On a system that
        // never posts them, the loop just waits.
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
                // The first path is the current one and not a change.
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
    /// Returns a stream of the device's network paths. From iOS 17 on, `NWPathMonitor` is itself a sequence of them.
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
