// swift-format-ignore-file
// The parts of SwiftUI that this package and its sample app use. The sources are pages of
// developer.apple.com/documentation/swiftui ("swiftui: view"); SwiftUI exports AppKit on macOS and UIKit on iOS.
@_exported import AppKit
@_exported import Combine

public protocol DynamicProperty {}  // swiftui: dynamicproperty

@MainActor @preconcurrency public protocol View {  // swiftui: view
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }  // swiftui: view, conforming types

@MainActor @preconcurrency public protocol Scene {  // swiftui: scene
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
}
extension Never: Scene {}

@MainActor @preconcurrency public protocol App {  // swiftui: app
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}
extension App { @MainActor public static func main() {} }  // swiftui: app/main()

@resultBuilder public enum ViewBuilder {  // swiftui: viewbuilder
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView { TupleView() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> Either<First, Second> { Either() }
    public static func buildEither<First: View, Second: View>(second: Second) -> Either<First, Second> { Either() }
}
@resultBuilder public enum SceneBuilder {  // swiftui: scenebuilder
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
extension Optional: View where Wrapped: View { public var body: Never { fatalError() } }  // swiftui: view, conforming types
public struct EmptyView: View { nonisolated public init() {}; public var body: Never { fatalError() } }  // swiftui: emptyview
public struct TupleView: View { nonisolated init() {}; public var body: Never { fatalError() } }  // swiftui: tupleview
public struct Either<First: View, Second: View>: View { nonisolated init() {}; public var body: Never { fatalError() } }  // swiftui: _conditionalcontent

public struct WindowGroup<Content: View>: Scene {  // swiftui: windowgroup
    public init(@ViewBuilder content: () -> Content) {}  // swiftui: windowgroup/init(content:)
    public var body: Never { fatalError() }
}
public struct BackgroundTask<Request, Response> {  // swiftui: backgroundtask
    public static func appRefresh(_ matching: String) -> BackgroundTask<Void, Void> where Request == Void, Response == Void {
        BackgroundTask<Void, Void>()  // swiftui: backgroundtask/apprefresh(_:)
    }
}
extension Scene {
    public func backgroundTask<D, R>(  // swiftui: scene/backgroundtask(_:action:)
        _ task: BackgroundTask<D, R>, action: @escaping @Sendable (D) async -> R
    ) -> some Scene { self }
}

@MainActor @preconcurrency @propertyWrapper public struct StateObject<Object: ObservableObject>: DynamicProperty {  // swiftui: stateobject
    public init(wrappedValue: @autoclosure @escaping () -> Object) {}
    public var wrappedValue: Object { fatalError() }
}
@MainActor @preconcurrency @propertyWrapper public struct ObservedObject<Object: ObservableObject>: DynamicProperty {  // swiftui: observedobject
    public init(wrappedValue: Object) { self.wrappedValue = wrappedValue }
    public var wrappedValue: Object
}
@propertyWrapper public struct State<Value>: DynamicProperty {  // swiftui: state
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public init() where Value: ExpressibleByNilLiteral { wrappedValue = nil }
    public var wrappedValue: Value { get { fatalError() } nonmutating set {} }
}
@propertyWrapper public struct Environment<Value>: DynamicProperty {  // swiftui: environment
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}
public struct EnvironmentValues { public var scenePhase: ScenePhase { .active } }  // swiftui: environmentvalues/scenephase
public enum ScenePhase: Comparable, Sendable { case background, inactive, active }  // swiftui: scenephase

public struct Text: View {  // swiftui: text
    nonisolated public init<S: StringProtocol>(_ content: S) {}
    public var body: Never { fatalError() }
}
public struct Image: View {  // swiftui: image
    nonisolated public init(nsImage: NSImage) {}  // swiftui: image/init(nsimage:), on macOS
    nonisolated public init(uiImage: UIImage) {}  // swiftui: image/init(uiimage:), elsewhere
    public func resizable() -> Image { self }  // swiftui: image/resizable(capinsets:resizingmode:)
    public var body: Never { fatalError() }
}
public struct Color: View, Hashable, Sendable {  // swiftui: color
    nonisolated public init(red: Double, green: Double, blue: Double, opacity: Double = 1) {}
    nonisolated public static var gray: Color { Color(red: 0, green: 0, blue: 0) }  // swiftui: color/gray
    public var body: Never { fatalError() }
}
public struct HStack<Content: View>: View {  // swiftui: hstack
    public init(spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct VStack<Content: View>: View {  // swiftui: vstack
    public init(spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct Button: View {  // swiftui: button/init(_:action:)
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
    public var body: Never { fatalError() }
}
public struct NavigationLink<Destination: View>: View {  // swiftui: navigationlink/init(_:destination:)
    public init<S: StringProtocol>(_ title: S, @ViewBuilder destination: () -> Destination) {}
    public var body: Never { fatalError() }
}
public struct NavigationStack<Root: View>: View {  // swiftui: navigationstack/init(root:)
    public init(@ViewBuilder root: () -> Root) {}
    public var body: Never { fatalError() }
}
public struct List<Content: View>: View {  // swiftui: list/init(_:rowcontent:)
    nonisolated public init<Data: RandomAccessCollection>(
        _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Content
    ) where Data.Element: Identifiable {}
    public var body: Never { fatalError() }
}

extension View {
    public func navigationTitle<S: StringProtocol>(_ title: S) -> some View { self }  // swiftui: view/navigationtitle(_:)
    public func toolbar<V: View>(@ViewBuilder content: () -> V) -> some View { self }  // swiftui: view/toolbar(content:)
    public func tint(_ color: Color?) -> some View { self }  // swiftui: view/tint(_:)
    public func frame(width: Double? = nil, height: Double? = nil) -> some View { self }  // swiftui: view/frame(width:height:alignment:)
    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { self }  // swiftui: view/refreshable(action:)
    public func overlay<V: View>(@ViewBuilder content: () -> V) -> some View { self }  // swiftui: view/overlay(alignment:content:)
    public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { self }  // swiftui: view/task(priority:_:)
    public func task<T: Equatable>(id: T, @_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { self }  // swiftui: view/task(id:priority:_:)
    public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some View { self }  // swiftui: view/onchange(of:perform:), which iOS 17 deprecates
}
