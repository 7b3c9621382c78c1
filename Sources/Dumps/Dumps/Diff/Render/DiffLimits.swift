/// The limits of every form of a report about differences. What exceeds them is cut or only counted.
///
/// The names and values of records come from servers: without limits, a record of 2 MB makes gigabytes of text.
package enum DiffLimits {
    /// The fields of one record.
    static let fields = 1_000
    /// One name, in bytes.
    static let nameBytes = 200
    /// One value in a form for people, in bytes.
    static let shownValueBytes = 400
    /// One value in JSON, in bytes.
    static let valueBytes = 64 << 10
    /// A whole report as text or JSON, in bytes. The last record may exceed it.
    static let reportBytes = 64 << 20
    /// The JSON of the records that are compared for a page, in bytes.
    package static let pageRecordBytes = 64 << 20
}
