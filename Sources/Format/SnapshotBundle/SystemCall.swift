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
func readFully(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int? = nil) -> Int? {
    transferred(buffer.count) { done, count in
        let address = unsafe buffer.baseAddress.map { unsafe $0 + done }
        guard let offset else { return unsafe read(descriptor, address, count) }
        return unsafe pread(descriptor, address, count, off_t(offset + done))  // bounded: by the file
    }
}

/// Writes all of `buffer`.
///
/// - Parameter offset: the position in the file; `nil` for the descriptor's current position.
/// - Returns: whether it succeeded. If not, the reason is in `errno`.
func writeFully(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer, at offset: Int? = nil) -> Bool {
    let written = transferred(buffer.count) { done, count in
        let address = unsafe buffer.baseAddress.map { unsafe $0 + done }
        guard let offset else { return unsafe write(descriptor, address, count) }
        return unsafe pwrite(descriptor, address, count, off_t(offset + done))  // bounded: by the file
    }
    return written == buffer.count
}

/// Repeats a system call until it has transferred `size` bytes or transfers none; returns the number, or `nil` after a
/// failure.
private func transferred(_ size: Int, _ call: (_ done: Int, _ count: Int) -> Int) -> Int? {
    var done = 0
    while done < size {
        let step = call(done, min(size - done, mostAtOnce))
        if step < 0, errno == EINTR { continue }
        guard step >= 0 else { return nil }
        if step == 0 { break }
        done += step
    }
    return done
}
