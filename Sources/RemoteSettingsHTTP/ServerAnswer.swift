import RemoteSettingsModel

/// A document as the server gave it, not parsed and not verified.
public struct ServerDocument: Sendable, Hashable {
    public let body: Bytes
    /// Where it came from, after redirects.
    public let url: HTTPURL
    public let headers: HTTPHeaders

    public init(body: Bytes, url: HTTPURL, headers: HTTPHeaders) {
        self.body = body
        self.url = url
        self.headers = headers
    }
}

/// What a server answers to the request for a changeset.
public enum ChangesetAnswer: Sendable, Hashable {
    /// A changeset.
    ///
    /// `answersSince` tells a delta from a full list. Where it is false the answer came from a URL without `_since`:
    /// none was asked, or the server no longer knows that timestamp and redirected (307). Such an answer holds every
    /// record and no tombstones. It **replaces** what is held and must never be merged into it.
    case changes(ServerDocument, answersSince: Bool)
    /// 204: nothing newer than what was asked for, or `_expected` lies before `_since`.
    case nothing
}

/// What the server's answer to a download begins with, and its bytes.
public enum DownloadPart: Sendable, Hashable {
    /// The bytes that follow belong at this offset. Given once at the beginning, and again whenever the transfer had
    /// to be taken up anew: at the offset reached, or at 0, where everything received before is to be thrown away.
    case start(DownloadStart)
    case bytes([UInt8])
}

public struct DownloadStart: Sendable, Hashable {
    public let offset: Int
    /// The whole file's size as the server says it, in bytes; `nil` where it does not.
    public let size: Int?
    /// Names this version of the file, for ``ResumePoint``; `nil` where the server gives nothing of the kind.
    public let validator: String?

    public init(offset: Int, size: Int?, validator: String?) {
        self.offset = offset
        self.size = size
        self.validator = validator
    }
}

/// From where an interrupted download goes on.
public struct ResumePoint: Sendable, Hashable {
    /// How many bytes are there already.
    public let offset: Int
    /// The ``DownloadStart/validator`` that came with them: where the file has changed since, the server starts again.
    public let validator: String?

    public init(offset: Int, validator: String? = nil) {
        self.offset = offset
        self.validator = validator
    }
}
