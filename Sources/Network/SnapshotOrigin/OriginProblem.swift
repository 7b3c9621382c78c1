import RemoteSettingsModel
import SnapshotBundle

/// An error response: on v2 in the format of Mozilla's server, otherwise in the format of Kinto's API ("error
/// responses").
package struct OriginProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    package let status: Int
    /// Kinto's numeric error code.
    let errno: Int
    /// The title of the error, such as "Not Found".
    let error: String
    let message: String
    /// The wrong query parameter with a description of the problem; `nil` if the message is sufficient.
    private let parameter: Parameter?

    private struct Parameter: Hashable {
        let name: String
        let description: String
        /// The parameter's value, used on v2; `nil` if the parameter is missing.
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
    /// The response for the paths at which Kinto has lists and single objects, which this server does not have.
    static let noList = OriginProblem(
        404, errno: 111, "Not Found",
        "This server does not serve lists; request buckets/BUCKET/collections/COLLECTION/changeset?_expected=0.")
    package static let methodNotAllowed = OriginProblem(
        405, errno: 115, "Method Not Allowed", "This server is read-only; use GET or HEAD.")
    package static let failed = OriginProblem(
        500, errno: 999, "Internal Server Error", "The snapshot could not be read; see the server's log.")

    /// The response while the server is still reading its bundles.
    package static let notReady = OriginProblem(
        503, errno: 201, "Service Unavailable", "The snapshots are being read and verified; try again in a moment.")
    /// The response while too many responses wait for slow clients.
    package static let busy = OriginProblem(
        503, errno: 201, "Service Unavailable", "Too many responses are in progress; try again in a moment.")

    static func invalid(_ parameter: String, _ description: String) -> OriginProblem {
        OriginProblem(
            400, errno: 107, "Invalid parameters", "\(parameter) in querystring: \(description)",
            parameter: Parameter(name: parameter, description: description))
    }

    /// Returns v2's response to a parameter that is missing or not a number in its range.
    static func unprocessable(_ parameter: String, _ input: String?) -> OriginProblem {
        let description = input == nil ? "Field required" : "Input should be a timestamp in milliseconds"
        return OriginProblem(
            422, errno: 107, "Invalid parameters", description,
            parameter: Parameter(name: parameter, description: description, input: input))
    }

    static func omitted(_ reason: OmissionReason) -> OriginProblem {
        OriginProblem(404, errno: 111, "Not Found", "The attachment was left out of the snapshot (\(reason)).")
    }

    package var description: String { "\(error): \(message)" }

    /// Returns the body of the response.
    ///
    /// - Parameter version: the API version in the request's path.
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
