// swift-format-ignore-file
// The parts of AppKit (on macOS) and UIKit (on iOS) that the sample app uses.
@_exported import AppleFoundation

/// appkit: nsimage/init(data:)
public class NSImage { public init?(data: Data) { nil } }

/// uikit: uiimage/init(data:)
public class UIImage { public init?(data: Data) { nil } }
