import RemoteSettingsHTTP
import RemoteSettingsModel

/// Where the server's attachments are: asked for once in a run, and only if something has to be downloaded.
actor AttachmentsURLSource {
    private let client: ServerClient
    private var task: Task<AttachmentsURL, any Error>?

    init(client: ServerClient) {
        self.client = client
    }

    func value() async throws -> AttachmentsURL {
        if let task { return try await task.value }
        let client = client
        let task = Task {
            let document = try await client.rootDocument()
            let root = try JSONValue(parsing: document.body, limits: client.limits)
            guard let base = root["capabilities"]?["attachments"]?["base_url"]?.string else {
                throw CollectionError.configuration(
                    "\(document.url): expected capabilities.attachments.base_url, found none; this server offers no "
                        + "attachments: use attachments: none in dumps.yaml")
            }
            return try AttachmentsURL(base, of: client.server)
        }
        self.task = task
        return try await task.value
    }
}
