import RemoteSettingsModel

// Why a file cannot be read as in-app defaults.
extension Failure {
    /// Creates a failure because of a file of in-app defaults.
    init(line: Int? = nil, notDefaults problem: String) {
        self.init(.malformed, line: line, problem: problem)
    }

    static func tooDeep(line: Int? = nil) -> Self {
        Self(.overLimit, line: line, problem: "values are nested deeper than \(Limits.jsonDepth) levels")
    }

    static func tooMany(line: Int? = nil) -> Self {
        Self(.overLimit, line: line, problem: "there are more than \(Limits.jsonValues) values")
    }

    // MARK: Why a record is not a parameter
    private static func notParameter(_ problem: String) -> Self {
        Self(
            .malformed, problem,
            remedy: "a collection for remote config must contain only records with \"key\" and \"value\"")
    }

    /// Returns the same failure with the record that it is about.
    package func of(record: String) -> Self {
        var copy = self
        copy.place = "the record \(record) is not a parameter"
        return copy
    }

    static let notCanonicalRecord = notParameter("it is not a canonical JSON object")
    static let noKey = notParameter("\"key\", the parameter's name, is missing")
    static let keyIsNoText = notParameter("\"key\" must be a string")
    static let invalidKey = notParameter(
        "\"key\" must be 1 to \(ParameterRecord.keyScalars) characters, without control characters")
    static let noValue = notParameter("\"value\" (or \"in_app_default\": true) is missing")
    static let valueAndInAppDefault = notParameter("only one of \"value\" and \"in_app_default\": true is allowed")
    static let invalidInAppDefault = notParameter("\"in_app_default\" must be true or false")
    static func invalidPriority(found: String) -> Self {
        notParameter("\"priority\" must be an integer from -(2^53 - 1) to 2^53 - 1, found \(found)")
    }
    static let filterIsNoText = notParameter("\"filter_expression\" must be a string")
}
