import RemoteSettingsModel

/// Returns the message for this thread's last failed system call.
func lastSystemError() -> String { systemError(errno) }

func systemError(_ code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}

/// The largest number of bytes for one call. Linux transfers at most 2 GiB at a time, and on Darwin a larger number is
/// an error.
private let mostAtOnce = 1 << 30

/// Reads until `buffer` is full or the end of the file is reached.
///
/// - Parameter offset: the position in the file; `nil` for the descriptor's current position.
/// - Returns: the number of bytes read; `nil` after a failure, with the reason in `errno`.
func readFully(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int? = nil
) -> Int? {
    var filled = 0
    while filled < buffer.count {
        let address = unsafe buffer.baseAddress.map { unsafe $0 + filled }
        let count = min(buffer.count - filled, mostAtOnce)
        let step =
            if let offset {
                unsafe pread(descriptor, address, count, off_t(offset + filled))  // bounded: by the file
            } else {
                unsafe read(descriptor, address, count)
            }
        if step < 0, errno == EINTR { continue }
        guard step >= 0 else { return nil }
        if step == 0 { break }
        filled += step
    }
    return filled
}

/// Writes all of `buffer`.
///
/// - Parameter offset: the position in the file; `nil` for the descriptor's current position.
/// - Returns: whether it succeeded. If not, the reason is in `errno`.
func writeFully(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer, at offset: Int? = nil) -> Bool {
    var written = 0
    while written < buffer.count {
        let address = unsafe buffer.baseAddress.map { unsafe $0 + written }
        let count = min(buffer.count - written, mostAtOnce)
        let step =
            if let offset {
                unsafe pwrite(descriptor, address, count, off_t(offset + written))  // bounded: by the file
            } else {
                unsafe write(descriptor, address, count)
            }
        if step < 0, errno == EINTR { continue }
        guard step > 0 else { return false }
        written += step
    }
    return true
}
