// swift-format-ignore-file
// What the sample app uses of AppKit on macOS, and of UIKit on iOS, whose module exports this one here.
@_exported import AppleFoundation

/// appkit: nsimage/init(data:)
public class NSImage { public init?(data: Data) { nil } }

/// uikit: uiimage/init(data:)
public class UIImage { public init?(data: Data) { nil } }
