/// Limits for every format of a diff report. Anything beyond them is truncated or only counted.
///
/// Names and values of records come from servers. Without limits, a record of 2 MB could produce gigabytes of output.
package enum DiffLimits {
    /// The maximum number of fields of one record.
    static let fields = 1_000
    /// The maximum size of a name, in bytes.
    static let nameBytes = 200
    /// The maximum size of a value in a human-readable format, in bytes.
    static let shownValueBytes = 400
    /// The maximum size of a value in JSON, in bytes.
    static let valueBytes = 64 << 10
    /// The maximum size of a whole report as text or JSON, in bytes. The last record may exceed it.
    static let reportBytes = 64 << 20
    /// The maximum JSON size of the records compared for a page of the web UI, in bytes.
    package static let pageRecordBytes = 64 << 20
}
