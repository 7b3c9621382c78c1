#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Standard output and standard error.
enum Console {
    /// Whether standard error is a terminal, where progress can be drawn.
    static var errorIsTerminal: Bool { isatty(2) == 1 }
    static var outputIsTerminal: Bool { isatty(1) == 1 }

    /// The terminal's width in columns.
    static var width: Int {
        var size = winsize()
        guard unsafe ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// A line to standard output.
    static func print(_ text: String) { write(Array((text + "\n").utf8), to: 1) }

    /// A line to standard error.
    static func error(_ text: String) { write(Array((text + "\n").utf8), to: 2) }

    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        write(bytes.span, to: descriptor)
    }

    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) {
        unsafe bytes.withUnsafeBytes { unsafe write($0, to: descriptor) }
    }

    /// Writes everything, or ends the process quietly where the reader has gone (`| head`).
    static func write(_ buffer: UnsafeRawBufferPointer, to descriptor: Int32) {
        var offset = 0
        while offset < buffer.count {
            let count = unsafe systemWrite(
                descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                exit(descriptor == 1 && errno == EPIPE ? 0 : 1)
            }
            offset += count
        }
    }

    /// Text from outside with what could steer a terminal made visible.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isControl($0) }) else { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    isControl(scalar) ? Array("\\u{\(String(scalar.value, radix: 16))}".unicodeScalars) : [scalar]
                }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || (0x202A...0x202E).contains(scalar.value)
            || (0x2066...0x2069).contains(scalar.value)
    }
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, buffer, count)
}
