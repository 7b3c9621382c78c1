import RemoteSettingsModel

/// An error for a record that is not a valid parameter, or for a file that cannot be read as in-app defaults.
package struct ParameterError: CodedError {
    package let code: FailureCode
    /// The record's id; `nil` for a file.
    package let record: String?
    /// The line in the file, starting with 1; `nil` for a file without lines.
    package var line: Int?
    /// The problem, as a sentence that does not name the record or the file.
    package let problem: String

    /// Creates an error about a file of in-app defaults.
    init(_ code: FailureCode = .malformed, line: Int? = nil, problem: String) {
        self.code = code
        self.line = line
        self.problem = problem
        record = nil
    }

    /// Creates an error about a record.
    package init(record: String, _ problem: Problem) {
        self.record = record
        self.problem = problem.sentence
        code = .malformed
    }

    static func tooDeep(line: Int? = nil) -> Self {
        Self(.overLimit, line: line, problem: "values are nested deeper than \(Limits.jsonDepth) levels")
    }

    static func tooMany(line: Int? = nil) -> Self {
        Self(.overLimit, line: line, problem: "there are more than \(Limits.jsonValues) values")
    }
}

extension ParameterError: CustomStringConvertible {
    package var description: String {
        guard let record else { return line.map { "line \($0): \(problem)" } ?? problem }
        return "the record \(record) is not a parameter: \(problem); a collection for remote config must contain only "
            + "records with \"key\" and \"value\""
    }
}

extension ParameterError {
    /// A problem with a record.
    package struct Problem: Hashable, Sendable {
        let sentence: String

        package static let unreadable = Self(sentence: "it is not a canonical JSON object")
        package static let noKey = Self(sentence: "\"key\", the parameter's name, is missing")
        package static let keyIsNoText = Self(sentence: "\"key\" must be a string")
        package static let invalidKey = Self(
            sentence:
                "\"key\" must be 1 to \(ParameterRecord.keyScalars) characters, without control characters")
        package static let noValue = Self(sentence: "\"value\" (or \"in_app_default\": true) is missing")
        package static let valueAndInAppDefault = Self(
            sentence: "only one of \"value\" and \"in_app_default\": true is allowed")
        package static let invalidInAppDefault = Self(sentence: "\"in_app_default\" must be true or false")
        package static func invalidPriority(found: String) -> Self {
            Self(sentence: "\"priority\" must be an integer from -(2^53 - 1) to 2^53 - 1, found \(found)")
        }
        package static let filterIsNoText = Self(sentence: "\"filter_expression\" must be a string")
    }
}
