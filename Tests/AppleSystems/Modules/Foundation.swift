// swift-format-ignore-file
// The parts of Foundation that this package uses, under the name AppleFoundation: only those of Linux's declarations
// that Apple systems have, too, and declarations that only Apple systems have. The sources are pages of
// developer.apple.com/documentation/foundation ("foundation: url") and neighboring sections.
@_exported import Darwin
@_exported import Dispatch  // Foundation exports it on every system
@_exported import class Foundation.Bundle
@_exported import protocol Foundation.CustomNSError
@_exported import struct Foundation.CharacterSet
@_exported import struct Foundation.Data
@_exported import struct Foundation.Date
@_exported import class Foundation.DateFormatter
@_exported import struct Foundation.Decimal
@_exported import struct Foundation.FileAttributeKey
@_exported import struct Foundation.FileAttributeType
@_exported import class Foundation.FileHandle
@_exported import class Foundation.FileManager
@_exported import class Foundation.JSONDecoder
@_exported import class Foundation.JSONEncoder
@_exported import class Foundation.JSONSerialization
@_exported import struct Foundation.Locale
@_exported import protocol Foundation.LocalizedError
@_exported import class Foundation.NSArray
@_exported import struct Foundation.CocoaError
@_exported import class Foundation.NSData
@_exported import class Foundation.NSDate
@_exported import class Foundation.NSDictionary
@_exported import class Foundation.NSError
@_exported import let Foundation.NSLocalizedDescriptionKey
@_exported import class Foundation.NSNull
@_exported import class Foundation.NSNumber
@_exported import class Foundation.NSObject
@_exported import class Foundation.NSString
@_exported import func Foundation.NSTemporaryDirectory
@_exported import struct Foundation.Notification
@_exported import class Foundation.NotificationCenter
@_exported import class Foundation.Pipe
@_exported import class Foundation.Process
@_exported import class Foundation.ProcessInfo
@_exported import class Foundation.PropertyListSerialization
@_exported import class Foundation.Thread
@_exported import typealias Foundation.TimeInterval
@_exported import struct Foundation.TimeZone
@_exported import struct Foundation.URL
@_exported import struct Foundation.URLError
@_exported import struct Foundation.URLResourceValues
@_exported import struct Foundation.UUID
@_exported import class FoundationNetworking.HTTPURLResponse
@_exported import struct FoundationNetworking.URLRequest
@_exported import class FoundationNetworking.URLResponse
@_exported import class FoundationNetworking.URLSession
@_exported import class FoundationNetworking.URLSessionConfiguration
@_exported import protocol FoundationNetworking.URLSessionDataDelegate
@_exported import class FoundationNetworking.URLSessionDataTask
@_exported import class FoundationNetworking.URLSessionTask

extension URLResourceValues {
    /// foundation: urlresourcevalues/isexcludedfrombackup
    public var isExcludedFromBackup: Bool? {
        get { nil }
        set {}
    }
}

extension FileAttributeKey {
    public static var protectionKey: FileAttributeKey { FileAttributeKey(rawValue: "NSFileProtectionKey") }  // foundation: fileattributekey/protectionkey
}

/// foundation: fileprotectiontype
public struct FileProtectionType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    // foundation: fileprotectiontype/completeuntilfirstuserauthentication
    public static let completeUntilFirstUserAuthentication = FileProtectionType(
        rawValue: "NSFileProtectionCompleteUntilFirstUserAuthentication")
}

extension NotificationCenter {
    /// foundation: notificationcenter/notifications(named:object:)
    public func notifications(named name: Notification.Name, object: (AnyObject & Sendable)? = nil) -> Notifications {
        Notifications()
    }

    /// foundation: notificationcenter/notifications
    public final class Notifications: AsyncSequence, Sendable {
        public typealias Element = Notification
        public struct Iterator: AsyncIteratorProtocol {
            public mutating func next() async -> Notification? { nil }
        }
        public func makeAsyncIterator() -> Iterator { Iterator() }
    }
}

@available(*, unavailable)
extension NotificationCenter.Notifications.Iterator: Sendable {}

public typealias CFTypeID = UInt  // corefoundation: cftypeid
public typealias CFTypeRef = AnyObject  // corefoundation: cftyperef
public func CFGetTypeID(_ object: CFTypeRef!) -> CFTypeID { 0 }  // corefoundation: cfgettypeid(_:)
public func CFBooleanGetTypeID() -> CFTypeID { 0 }  // corefoundation: cfbooleangettypeid()
