import RemoteSettingsModel

/// Provides the base URL of the server's attachments. It requests the URL once, when the first attachment is needed.
///
/// A failure is not stored, so the next call tries again. The URL is not signed, and a server may move its attachments.
/// If no download from the URL succeeds, call ``forget(_:)`` so that the next call requests it again.
///
/// It is not an actor: a caller that blocks a thread of Swift's task pool could then wait for an actor that needs that
/// thread.
package final class AttachmentsURLSource: Sendable {
    private let task = Mutex<Task<Result<AttachmentsURL, any Error>, Never>?>(nil)

    package init() {}

    /// Returns the base URL.
    ///
    /// - Parameter client: the client that requests the URL, on the first call only.
    /// - Throws: ``Failure``.
    package func value(_ client: ServerClient) async throws -> AttachmentsURL {
        let task = task.withLock { task in
            let known = task ?? WorkThreads.start { await Self.fetch(client) }
            task = known
            return known
        }
        let result = await task.value
        if case .failure = result { forget(task) }
        return try result.get()
    }

    private static func fetch(_ client: ServerClient) async -> Result<AttachmentsURL, any Error> {
        do {
            let document = try await client.rootDocument()
            let root = try mapFailure(of: try JSONValue(parsing: document.body)) {
                Failure(document.url, .damagedRoot($0))
            }
            guard let base = root["capabilities"]?["attachments"]?["base_url"]?.string else {
                throw Failure(document.url, .noAttachments)
            }
            return .success(try AttachmentsURL(base, of: client.server))
        } catch {
            return .failure(error)
        }
    }

    /// Makes the next call request the URL again, unless a different one is already known.
    package func forget(_ url: AttachmentsURL) async {
        guard let task = task.withLock({ $0 }), (try? await task.value.get()) == url else { return }
        forget(task)
    }

    private func forget(_ known: Task<Result<AttachmentsURL, any Error>, Never>) {
        task.withLock { if $0 == known { $0 = nil } }
    }
}
