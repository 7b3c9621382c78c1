#if canImport(Darwin)
    import Foundation
#endif

/// Leaves a directory out of device backups: what is in it can be fetched again.
enum BackupExclusion {
    static func apply(to path: String) {
        #if canImport(Darwin)
            var url = URL(fileURLWithPath: path, isDirectory: true)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            // Where the file system has no such attribute, the directory is backed up; nothing depends on it.
            try? url.setResourceValues(values)
        #endif
    }
}
