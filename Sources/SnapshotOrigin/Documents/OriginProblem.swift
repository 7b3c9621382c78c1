import RemoteSettingsModel
import SnapshotBundle

/// An error answer, in the form of Kinto's API ("error responses").
package struct OriginProblem: Error, Hashable {
    /// The HTTP status.
    package let code: Int
    /// Kinto's number for the kind of error.
    package let errno: Int
    /// The kind of error in words.
    package let error: String
    package let message: String
    /// What the error is about; `nil` if the message says everything.
    private let details: Details?

    private enum Details: Hashable {
        /// The query parameter that is wrong, and why.
        case parameter(name: String, description: String)
        /// The id of the object that does not exist, and the kind of object that was looked for.
        case missing(id: String, kind: String)
    }

    package init(_ code: Int, errno: Int, _ error: String, _ message: String) {
        self.init(code, errno: errno, error, message, details: nil)
    }

    private init(_ code: Int, errno: Int, _ error: String, _ message: String, details: Details?) {
        self.code = code
        self.errno = errno
        self.error = error
        self.message = message
        self.details = details
    }

    package static let notFound = OriginProblem(
        404, errno: 111, "Not Found", "The resource you are looking for could not be found.")
    package static let methodNotAllowed = OriginProblem(
        405, errno: 115, "Method Not Allowed", "This origin is read-only: GET and HEAD are answered.")
    package static let failed = OriginProblem(
        500, errno: 999, "Internal Server Error", "The snapshot could not be read; the origin's log says why.")

    /// The answer while an origin is still reading its bundles.
    package static let notReady = OriginProblem(
        503, errno: 201, "Service Unavailable", "The snapshots are being read and verified; try again in a moment.")
    /// The answer while clients have not taken too many answers yet.
    package static let busy = OriginProblem(
        503, errno: 201, "Service Unavailable", "Too many answers have not been taken yet; try again in a moment.")

    static func invalid(_ parameter: String, _ description: String) -> OriginProblem {
        OriginProblem(
            400, errno: 107, "Invalid parameters", "\(parameter) in querystring: \(description)",
            details: .parameter(name: parameter, description: description))
    }

    /// The answer if no object has this id.
    ///
    /// - Parameters:
    ///   - kind: `collection` or `record`.
    ///   - isAsked: whether the request was for the object itself, and not for something in it.
    static func missing(_ kind: String, _ id: String, isAsked: Bool) -> OriginProblem {
        OriginProblem(
            404, errno: isAsked ? 110 : 111, "Not Found", "There is no \(kind) of this id.",
            details: .missing(id: id, kind: kind))
    }

    static func omitted(_ reason: OmissionReason) -> OriginProblem {
        OriginProblem(
            404, errno: 111, "Not Found", "The attachment was left out of the snapshot (\(reason)).")
    }

    /// The answer's body.
    package var body: Bytes {
        var members = [
            JSONValue.Member(key: "code", value: .number(JSONNumber(code))),
            .init(key: "errno", value: .number(JSONNumber(errno))),
            .init(key: "error", value: .string(error)),
            .init(key: "message", value: .string(message)),
        ]
        switch details {
        case .parameter(let name, let description)?:
            let detail = JSONValue.members([
                "location": .string("querystring"), "name": .string(name), "description": .string(description),
            ])
            members.append(.init(key: "details", value: .array([detail])))
        case .missing(let id, let kind)?:
            let detail = JSONValue.members(["id": .string(id), "resource_name": .string(kind)])
            members.append(.init(key: "details", value: detail))
        case nil: break
        }
        return Bytes(JSONText.compact(.object(members)))
    }
}
