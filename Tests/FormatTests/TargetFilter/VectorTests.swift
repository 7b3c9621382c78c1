import Foundation
import RemoteSettingsModel
import TargetFilter
import Testing

/// `Tests/Vectors/target-filters.json` contains the results of a real Firefox (`test_firefox.py`), except for vectors that
/// differ and state Firefox's result.
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
                Issue.record("\(text): context \(name) is missing")
                continue
            }
            let result = try #require(vector["result"])
            let found = try? FilterExpression(parsing: text).evaluate(in: FilterContext(root: root))
            let expected = result["error"] != nil ? nil : result["value"].map(FilterValue.init) ?? .undefined
            #expect(found == expected, "\(text) in \(name)")
        }
    }
}
