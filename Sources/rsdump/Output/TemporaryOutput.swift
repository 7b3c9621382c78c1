import FileStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A directory for what a command writes: the one that its user named, or one that is there during a call.
enum TemporaryOutput {
    /// - Throws: ``CommandFailure`` where the directory cannot be made, and what `body` throws.
    static func with<Value>(_ named: String?, _ body: (String) async throws -> Value) async throws -> Value {
        if let named {
            try FileStore.makeDirectories(named)
            return try await body(named)
        }
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent.isEmpty ? "/tmp" : parent)/rsdump.XXXXXX".utf8CString)
        let isMade = unsafe template.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
        }
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard isMade else {
            throw CommandFailure(.someFailed, "\(parent): a temporary directory cannot be made there; set TMPDIR")
        }
        do {
            let value = try await body(path)
            try FileStore.removeTree(path)
            return value
        } catch {
            try? FileStore.removeTree(path)
            throw error
        }
    }
}
