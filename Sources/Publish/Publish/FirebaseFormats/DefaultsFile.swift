import ConfigParameters
import Dumps
import RemoteSettingsModel

/// A file with in-app defaults, converted to the short form of remote config. The file is a property list, JSON, or
/// Android's XML (`<defaultsMap>`). No I/O.
package struct DefaultsFile: Sendable {
    /// The generated source file, in YAML.
    package let source: Bytes
    /// The in-app defaults.
    package let inAppDefaults: InAppDefaults

    /// Converts a file.
    ///
    /// - Parameter file: the file's name, for errors.
    /// - Throws: ``Failure``.
    package init(_ bytes: Bytes, file: String) throws(Failure) {
        var problems = ProblemList()
        let document: DefaultsDocument
        do throws(Failure) {
            document = try DefaultsDocument(bytes)
        } catch {
            problems.add(file, error.line, error.problem, "export the defaults again")
            throw Failure(problems: problems.problems)
        }
        var members: [JSONValue.Member] = []
        for member in document.members {
            let name = VisibleText.quote(member.key)
            if !ParameterRecord.isKey(member.key) {
                problems.add(
                    file, member.line, "\(name) is not a valid parameter name",
                    "write 1 to \(ParameterRecord.keyScalars) characters, without control characters")
            }
            do throws(Failure) {
                let value = try member.value.json { _ throws(Failure) in
                    throw Failure(
                        place: file, line: member.line, problem: "\(name) is data or a date, which JSON cannot express",
                        remedy: "write it as a string")
                }
                members.append(.init(key: member.key, value: value))
            } catch {
                problems.add(error)
            }
        }
        guard problems.problems.isEmpty else { throw Failure(problems: problems.problems) }
        var text = SourceText()
        text.line(0, members.isEmpty ? "parameters: {}" : "parameters:")
        for member in members {
            let value = SourceText.value(member.value)
            switch member.value {
            case .object, .null:
                text.line(1, "\(SourceText.key(member.key)):")
                text.line(2, "value: \(value)")
            default: text.line(1, "\(SourceText.key(member.key)): \(value)")
            }
        }
        source = try text.checked(file)
        inAppDefaults = InAppDefaults(
            values: Dictionary(members.map { ($0.key.exact, $0.value) }) { _, last in last },
            hasTypes: document.hasTypes)
    }
}
