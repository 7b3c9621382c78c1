import RemoteSettingsModel

/// The first bytes of a file, read without mapping it.
enum FilePrefix {
    /// Reads at most `count` bytes; fewer only if the file is shorter.
    static func read(path: String, count: Int) throws(BundleError) -> Bytes {
        func failure() -> BundleError {
            BundleError(.unreadable, file: path, expected: "a readable regular file", found: lastSystemError())
        }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var prefix = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let step = unsafe prefix.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress.map { unsafe $0 + filled }, count - filled, off_t(filled))
            }
            if step < 0 && errno == EINTR { continue }
            guard step >= 0 else { throw failure() }
            if step == 0 { break }
            filled += step
        }
        return Bytes(prefix)[0..<filled]
    }
}
