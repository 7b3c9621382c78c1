import RemoteSettingsModel
import SnapshotBundle

/// An error answer: on v2 in the form of Mozilla's server, otherwise in that of Kinto's API ("error responses").
package struct OriginProblem: CodedError {
    /// The HTTP status.
    package let status: Int
    /// Kinto's number for the kind of error.
    let errno: Int
    /// The kind of error, in words.
    let error: String
    let message: String
    /// The wrong query parameter, and what is wrong with it; `nil` if the message says everything.
    private let parameter: Parameter?

    private struct Parameter: Hashable {
        let name: String
        let description: String
        /// The value on v2; `nil` if it is missing.
        var input: String?
    }

    init(_ status: Int, errno: Int, _ error: String, _ message: String) {
        self.init(status, errno: errno, error, message, parameter: nil)
    }

    private init(_ status: Int, errno: Int, _ error: String, _ message: String, parameter: Parameter?) {
        self.status = status
        self.errno = errno
        self.error = error
        self.message = message
        self.parameter = parameter
    }

    package static let notFound = OriginProblem(
        404, errno: 111, "Not Found", "The resource you are looking for could not be found.")
    /// The answer for the paths at which Kinto has lists and single objects.
    static let noList = OriginProblem(
        404, errno: 111, "Not Found",
        "This server does not serve lists; request buckets/BUCKET/collections/COLLECTION/changeset?_expected=0.")
    package static let methodNotAllowed = OriginProblem(
        405, errno: 115, "Method Not Allowed", "This server is read-only; use GET or HEAD.")
    package static let failed = OriginProblem(
        500, errno: 999, "Internal Server Error", "The snapshot could not be read; see the server's log.")

    /// The answer while a server is still reading its bundles.
    package static let notReady = OriginProblem(
        503, errno: 201, "Service Unavailable", "The snapshots are being read and verified; try again in a moment.")
    /// The answer while too many answers wait for their clients.
    package static let busy = OriginProblem(
        503, errno: 201, "Service Unavailable", "Too many responses are in progress; try again in a moment.")

    static func invalid(_ parameter: String, _ description: String) -> OriginProblem {
        OriginProblem(
            400, errno: 107, "Invalid parameters", "\(parameter) in querystring: \(description)",
            parameter: Parameter(name: parameter, description: description))
    }

    /// The answer of v2 to a parameter that is missing or not a number in its range.
    static func unprocessable(_ parameter: String, _ input: String?) -> OriginProblem {
        let description = input == nil ? "Field required" : "Input should be a timestamp in milliseconds"
        return OriginProblem(
            422, errno: 107, "Invalid parameters", description,
            parameter: Parameter(name: parameter, description: description, input: input))
    }

    static func omitted(_ reason: OmissionReason) -> OriginProblem {
        OriginProblem(
            404, errno: 111, "Not Found", "The attachment was left out of the snapshot (\(reason)).")
    }

    package var code: FailureCode { .status(status) }

    package var description: String { "\(error): \(message)" }

    /// The answer's body.
    ///
    /// - Parameter version: the version that the request's path names.
    package func body(_ version: APIVersion?) -> Bytes {
        if version == .v2 { return Bytes(JSONText.compact(.members(["detail": detail]))) }
        var members = [
            JSONValue.Member(key: "code", value: .number(JSONNumber(status))),
            .init(key: "errno", value: .number(JSONNumber(errno))),
            .init(key: "error", value: .string(error)),
            .init(key: "message", value: .string(message)),
        ]
        if let parameter {
            let detail = JSONValue.members([
                "location": .string("querystring"), "name": .string(parameter.name),
                "description": .string(parameter.description),
            ])
            members.append(.init(key: "details", value: .array([detail])))
        }
        return Bytes(JSONText.compact(.object(members)))
    }

    private var detail: JSONValue {
        guard let parameter else { return .string(message) }
        return .array([
            .members([
                "type": .string(parameter.input == nil ? "missing" : "int_parsing"),
                "loc": .array([.string("query"), .string(parameter.name)]),
                "msg": .string(parameter.description), "input": parameter.input.map(JSONValue.string) ?? .null,
            ])
        ])
    }
}
