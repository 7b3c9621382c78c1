import RemoteSettingsModel
import SnapshotBundle

/// The modification times of files, which web servers send to clients.
enum FileTime {
    /// Sets a file's modification time, so that `Last-Modified` and `ETag` are the same on every copy of a mirror.
    static func set(_ path: String, to time: Timestamp) throws(Failure) {
        let seconds = timespec(
            tv_sec: time_t(clamping: time.seconds), tv_nsec: Int(time.milliseconds % 1000) * 1_000_000)
        let result = unsafe [seconds, seconds].withUnsafeBufferPointer { times in
            unsafe utimensat(AT_FDCWD, path, times.baseAddress, 0)
        }
        guard result == 0 else { throw Failure("set the time of", path) }
    }
}

/// A symbolic link that is replaced atomically.
enum Link {
    /// Returns the link's target; `nil` if there is no link.
    static func target(of path: String) throws(Failure) -> String? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = unsafe buffer.withUnsafeMutableBytes { raw in
            guard let start = raw.baseAddress else { return 0 }
            return unsafe readlink(path, start.assumingMemoryBound(to: CChar.self), raw.count)
        }
        guard count >= 0 else {
            let error = Failure("read the link", path)
            // EINVAL means that the path is not a link.
            guard error.isMissing || error.errorNumber == EINVAL else { throw error }
            return nil
        }
        guard count > 0, count < buffer.count else { return nil }
        return String(validating: buffer[..<count], as: UTF8.self)
    }

    /// Creates or replaces the link.
    ///
    /// - Parameter target: the target, relative to the link's folder.
    static func replace(_ path: String, with target: String) throws(Failure) {
        let temporary = FileStore.uniquePath(path)
        guard unsafe symlink(target, temporary) == 0 else { throw Failure("link", temporary) }
        do throws(Failure) {
            try FileStore.rename(temporary, to: path)
        } catch {
            try? FileStore.remove(temporary)
            throw error
        }
    }
}
