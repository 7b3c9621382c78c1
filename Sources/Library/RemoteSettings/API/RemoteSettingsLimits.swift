import RemoteSettingsModel

/// The limits on data from a server. Data that exceeds them is refused, and the current records remain in use.
public struct RemoteSettingsLimits: Hashable, Sendable {
    /// All limits: those of this type, and those that no app needs to change.
    package var all = Limits()

    /// Creates limits that are sufficient for every Mozilla collection.
    public init() {}

    /// The maximum size of an attachment, in bytes. The default is 16 GiB.
    public var attachmentBytes: Int {
        get { all.attachmentBytes }
        set { all.attachmentBytes = newValue }
    }

    /// The maximum size of the list of a collection's records, in bytes.
    public var changesetBytes: Int {
        get { all.changesetBytes }
        set { all.changesetBytes = newValue }
    }

    /// The maximum number of records in a collection.
    public var records: Int {
        get { all.records }
        set { all.records = newValue }
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
