import ExternalPrograms
import RemoteSettingsModel

/// Runs a store's client without a shell. It has this process's environment, which holds the credentials.
struct ClientProgram: Sendable {
    let name: String
    /// How to install the program, for people who do not have it.
    let package: String
    let store: String
    /// The most bytes of output that are read. A listing has about 150 bytes for each object.
    private static let outputBytes = 256 << 20

    /// Runs the program to its end.
    ///
    /// Its standard input is this process's, which is a lock that the program holds as long as it runs.
    ///
    /// - Parameter action: what the program does, for an error, such as "list the objects".
    func run(_ action: String, _ arguments: [String]) async throws(UploadError) -> ExternalProgram.Finished {
        do throws(ExternalProgram.Failure) {
            return try await ExternalProgram(name, arguments)
                .run(input: nil, mostOutput: Self.outputBytes, seconds: nil)
        } catch .notFound {
            throw .noProgram(name, package: package)
        } catch {
            throw failure(action, "\(error)")
        }
    }

    /// Runs the program, and throws if it fails.
    func check(_ action: String, _ arguments: [String]) async throws(UploadError) -> [UInt8] {
        let result = try await run(action, arguments)
        guard result.status == 0 else { throw failure(action, result) }
        return result.output
    }

    func failure(_ action: String, _ result: ExternalProgram.Finished) -> UploadError {
        failure(action, result.reason)
    }

    func failure(_ action: String, _ problem: String) -> UploadError {
        .failed(program: name, action: action, store: store, problem: problem)
    }

    func parse(_ output: [UInt8], _ action: String) throws(UploadError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: Bytes(output), limits: .lists)
        } catch {
            throw failure(action, "its output cannot be read: \(error)")
        }
    }
}

extension Limits {
    /// The limits for lists that have a few values for each of up to a million objects.
    static var lists: Limits {
        var limits = Limits()
        limits.jsonMembers = 2_000_000
        limits.jsonValues = 20_000_000
        return limits
    }
}

extension ExternalProgram.Finished {
    /// Whether the store refused to write because of the condition.
    var isRefused: Bool {
        ["PreconditionFailed", "ConditionalRequestConflict", "StatusCode: 412", "status code: 412"].contains {
            errors.contains($0)
        }
    }
}
