import RemoteSettingsModel

/// The base URL of the server's attachments. It is requested once, and only if there is something to download.
///
/// A failure is not remembered, so the next call tries again. The URL is not signed, and a server may move its
/// attachments. If nothing could be downloaded from it, ``forget(_:)`` makes the next call ask again.
package actor AttachmentsURLSource {
    private var task: Task<AttachmentsURL, any Error>?

    package init() {}

    /// The base URL.
    ///
    /// - Parameter client: the client that asks the server, on the first call only.
    /// - Throws: `HTTPError` or ``AttachmentsNotOffered``.
    package func value(_ client: ServerClient) async throws -> AttachmentsURL {
        if let task { return try await task.value }
        let task = WorkThreads.startLikewise {
            let document = try await client.rootDocument()
            let root: JSONValue
            do throws(JSONError) {
                root = try JSONValue(parsing: document.body, limits: client.limits)
            } catch {
                throw AttachmentsNotOffered(
                    url: "\(document.url)", problem: "the server's root document is damaged: \(error); try again later")
            }
            guard let base = root["capabilities"]?["attachments"]?["base_url"]?.string else {
                throw AttachmentsNotOffered(
                    url: "\(document.url)",
                    problem:
                        "this server offers no attachments (capabilities.attachments.base_url is missing); fetch the "
                        + "collection without them (attachments: none in dumps.yaml)")
            }
            return try AttachmentsURL(base, of: client.server)
        }
        self.task = task
        do {
            return try await task.value
        } catch {
            self.task = nil
            throw error
        }
    }

    /// Makes the next call ask the server again, unless the URL has already changed.
    package func forget(_ url: AttachmentsURL) async {
        guard let task, (try? await task.value) == url, self.task == task else { return }
        self.task = nil
    }
}

/// The server's root document does not have a base URL for attachments, or is damaged.
struct AttachmentsNotOffered: Error, Hashable, CustomStringConvertible {
    let url: String
    let problem: String

    var description: String { "\(url): \(problem)" }
}
