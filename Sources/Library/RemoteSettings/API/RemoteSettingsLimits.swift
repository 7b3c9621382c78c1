import RemoteSettingsModel

/// The limits on data from a server. Data that exceeds them is refused, and the current records remain in use.
public struct RemoteSettingsLimits: Hashable, Sendable {
    /// All limits: those of this type, and those that no app needs to change.
    package var all = Limits()

    /// Creates limits that are sufficient for every Mozilla collection.
    public init() {}

    /// The maximum size of an attachment, in bytes. The default, 16 GiB, is also the largest value.
    public var attachmentBytes: Int {
        get { all.attachmentBytes }
        set { all.attachmentBytes = min(newValue, Limits.attachmentBytes) }
    }

    /// The maximum size of the list of a collection's records, in bytes. The default, 256 MiB, is also the largest
    /// value.
    public var changesetBytes: Int {
        get { all.changesetBytes }
        set { all.changesetBytes = min(newValue, Limits.changesetBytes) }
    }

    /// The maximum number of records in a collection. The default, 1,000,000, is also the largest value.
    public var records: Int {
        get { all.records }
        set { all.records = min(newValue, Limits.records) }
    }

    /// The maximum number of attempts for each request; at least 1.
    public var tries: Int {
        get { all.tries }
        set { all.tries = newValue }
    }

    /// The maximum time until the server begins to answer, in whole seconds; at least 1 s.
    public var answerTimeout: Duration {
        get { .seconds(all.headTimeoutSeconds) }
        set { all.headTimeoutSeconds = max(1, Int(clamping: newValue.components.seconds)) }
    }

    /// The maximum time for all attempts to fetch one document, such as a collection's list of records, in whole
    /// seconds; at least 1 s.
    public var documentTimeout: Duration {
        get { .seconds(all.documentSeconds) }
        set { all.documentSeconds = max(1, Int(clamping: newValue.components.seconds)) }
    }
}
