import Foundation
import RemoteConfiguration
import RemoteSettingsTesting

/// What Firebase's own tests have on their server: texts, as its console publishes nothing else.
struct FirebaseConsole {
    static let recipe = #"{"recipeName":"PB&J","ingredients":["bread","peanut butter","jelly"],"cookTime":7}"#
    static let texts = [
        "Key1": "Value1", "Recipe": recipe, "notJSON": "notJSON", "myString": "string contents", "myInt": "123",
        "myFloat": "42.75", "myDecimal": "375.785", "myTrue": "true", "myFalse": "false", "myData": "data",
        "fruits": #"["mango","pineapple","papaya"]"#, "platforms": #"{"iOS":"14.0","macOS":"14.0"}"#, "Jedi": "Obi-Wan",
    ]

    struct Recipe: Codable, Equatable {
        var recipeName: String
        var ingredients: [String]
        var cookTime: Int

        static let sandwich = Recipe(recipeName: "PB&J", ingredients: ["bread", "peanut butter", "jelly"], cookTime: 7)
    }

    struct MyConfig: Decodable {
        var Recipe: Recipe
        var notJSON: String
        var myInt: Int
        var myFloat: Float
        var myDecimal: Decimal
        var myTrue: Bool
        var myData: Data
    }

    let place: ConfigPlace
    let config: RemoteConfig

    /// - Parameter isFetched: whether the texts are fetched and active.
    init(isFetched: Bool = true) async throws {
        place = try ConfigPlace()
        try place.put(all: Self.texts)
        config = place.start()
        if isFetched { try await config.fetchAndActivate() }
    }

    /// The outcome of a call with a completion handler.
    @MainActor
    static func outcome<Value: Sendable>(
        _ call: (@escaping @MainActor @Sendable (Value, (any Error)?) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in
            call { value, error in
                if let error { done.resume(throwing: error) } else { done.resume(returning: value) }
            }
        }
    }
}
