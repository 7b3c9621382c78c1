// swift-format-ignore-file
// The parts of Combine that the SwiftUI models use. The sources are pages of developer.apple.com/documentation/combine.

/// combine: observableobject
public protocol ObservableObject: AnyObject {}

/// combine: published
@propertyWrapper
public struct Published<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }  // combine: published/init(wrappedvalue:)
    public var wrappedValue: Value
}
