import Foundation
import RemoteSettingsModel
import TargetFilter
import Testing

/// `Tests/Vectors/target-filters.json`, whose results are those of a real Firefox (`Tests/Firefox`), except for the
/// vectors that say what Firefox does differently.
struct VectorTests {
    @Test func firefoxVectors() throws {
        let file = repository.appending(path: "Tests/Vectors/target-filters.json")
        let document = try JSONValue(parsing: Bytes(Array(Data(contentsOf: file))))
        let vectors = try #require(document["vectors"]?.array)
        #expect(vectors.count > 200)
        for vector in vectors {
            let text = try #require(vector["expression"]?.string)
            let name = try #require(vector["context"]?.string)
            guard case .object(let root)? = document["contexts"]?[name].map(FilterValue.init) else {
                Issue.record("\(text): there is no context \(name)")
                continue
            }
            let result = try #require(vector["result"])
            let found = try? FilterExpression(parsing: text).evaluate(in: FilterContext(root: root))
            let expected = result["error"] != nil ? nil : result["value"].map(FilterValue.init) ?? .undefined
            #expect(found == expected, "\(text) in \(name)")
        }
    }
}
