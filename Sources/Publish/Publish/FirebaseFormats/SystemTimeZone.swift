import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A time zone from the system's database, read through the C library.
struct SystemTimeZone: Sendable {
    static let folder = "/usr/share/zoneinfo"
    private let path: String
    /// Protects `TZ`, because the C library has only one time zone for the whole process.
    private static let environment = Mutex(())

    /// Looks for the system's file. Does I/O.
    ///
    /// - Parameter name: a name in the IANA database, such as `Europe/Berlin`.
    /// - Returns: `nil` if the system has no time zone with this name.
    /// - Throws: `Failure` if the system has no time zones.
    init?(named name: String, folder: String = Self.folder) throws(Failure) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            !part.isEmpty && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-_".contains($0)) }
        }
        guard isName else { return nil }
        path = "\(folder)/\(name)"
        // Check the file here, because the C library silently uses UTC if it cannot read it.
        guard let bytes = try? FileStore.read(path, limit: 1 << 20), bytes.starts(with: Array("TZif".utf8)) else {
            if (try? FileStore.exists(folder)) == true { return nil }
            throw Failure(problem: "no time zone data in \(folder); install tzdata")
        }
    }

    /// Returns the moment at which clocks in the zone show this time, in seconds since 1970.
    ///
    /// If a clock change skips the time, the result is the moment at which clocks show the corresponding time after the
    /// change.
    ///
    /// - Parameter wall: the time on the clocks, as if it were UTC, in seconds since 1970.
    func moment(of wall: Int64) -> Int64 {
        Self.environment.withLock { _ in
            let before = unsafe getenv("TZ").map { unsafe String(cString: $0) }
            unsafe setenv("TZ", ":\(path)", 1)
            tzset()
            defer {
                if let before { unsafe setenv("TZ", before, 1) } else { unsafe unsetenv("TZ") }
                tzset()
            }
            func offset(at moment: Int64) -> Int64 {
                var (moment, parts) = unsafe (time_t(moment), tm())
                return unsafe localtime_r(&moment, &parts) == nil ? 0 : unsafe Int64(parts.tm_gmtoff)
            }
            return wall - offset(at: wall - offset(at: wall))
        }
    }
}
