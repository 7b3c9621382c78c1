import RemoteSettingsModel

/// The limits on what comes from a server. What is larger or slower is refused, and the records that are held stay.
public struct RemoteSettingsLimits: Hashable, Sendable {
    /// These limits, and those that no app has a reason to change.
    package var all = Limits()

    /// The limits that fit every collection of Mozilla.
    public init() {}

    /// The largest attachment, in bytes. The default is 16 GiB.
    public var attachmentBytes: Int {
        get { all.attachmentBytes }
        set { all.attachmentBytes = newValue }
    }

    /// The largest list of a collection's records, in bytes.
    public var changesetBytes: Int {
        get { all.changesetBytes }
        set { all.changesetBytes = newValue }
    }

    /// The most records in a collection.
    public var records: Int {
        get { all.records }
        set { all.records = newValue }
    }

    /// How often a request is sent until it succeeds; at least 1.
    public var tries: Int {
        get { all.tries }
        set { all.tries = newValue }
    }

    /// How long a server may take until its answer begins, in whole seconds; at least 1 s.
    public var answerTimeout: Duration {
        get { .seconds(all.headTimeoutSeconds) }
        set { all.headTimeoutSeconds = max(1, Int(clamping: newValue.components.seconds)) }
    }

    /// How long one document, such as a collection's list of records, may take with all its tries, in whole seconds; at
    /// least 1 s.
    public var documentTimeout: Duration {
        get { .seconds(all.documentSeconds) }
        set { all.documentSeconds = max(1, Int(clamping: newValue.components.seconds)) }
    }
}
