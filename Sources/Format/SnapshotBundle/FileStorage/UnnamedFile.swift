import RemoteSettingsModel

extension FileStore {
    /// Creates a file without a name in the temporary directory, so that no other process can open it. It has this
    /// content, is positioned at its beginning, and is deleted when its last descriptor is closed. If the content is
    /// empty, opens `/dev/null` instead.
    ///
    /// - Returns: a descriptor, which the caller must close.
    package static func openUnnamedFile(with content: Bytes) throws(Failure) -> Int32 {
        guard !content.isEmpty else {
            let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Failure("open", "/dev/null") }
            return descriptor
        }
        var template = Array("\(temporaryDirectory)/remote-settings-XXXXXX".utf8CString)
        let descriptor = unsafe template.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return -1 }
            let descriptor = unsafe mkstemp(base)
            if descriptor >= 0 { unsafe unlink(base) }
            return descriptor
        }
        guard descriptor >= 0 else { throw Failure("create a file in", temporaryDirectory) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard unsafe content.withUnsafeBytes({ unsafe writeFully(descriptor, $0, at: 0) }) else {
            let error = Failure("write", "a file in the temporary directory")
            close(descriptor)
            throw error
        }
        return descriptor
    }
}
