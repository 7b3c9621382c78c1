// swift-format-ignore-file
// The parts of UIKit that the sample app uses. The sources are pages of developer.apple.com/documentation/uikit.
import AppKit
import SwiftUI

@MainActor public class UIApplication {  // uikit: uiapplication
    public struct LaunchOptionsKey: Hashable, RawRepresentable, Sendable {  // uikit: uiapplication/launchoptionskey
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
    public func registerForRemoteNotifications() {}  // uikit: uiapplication/registerforremotenotifications()
}
public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }  // uikit: uibackgroundfetchresult

@MainActor public protocol UIApplicationDelegate: AnyObject {  // uikit: uiapplicationdelegate
    func application(  // uikit: uiapplicationdelegate/application(_:didfinishlaunchingwithoptions:)
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(  // uikit: uiapplicationdelegate/application(_:didreceiveremotenotification:fetchcompletionhandler:), async
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}

@propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate>: DynamicProperty {
    public init(_ type: Delegate.Type = Delegate.self) {}  // swiftui: uiapplicationdelegateadaptor
    @MainActor public var wrappedValue: Delegate { fatalError() }
}
