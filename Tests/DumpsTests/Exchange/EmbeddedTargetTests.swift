import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps
@testable import DumpsExchange

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

struct EmbeddedTargetTests {
    private let example = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Examples/OfflineExample")

    private func text(_ path: String) throws -> String {
        try String(contentsOf: example.appending(path: "Sources/\(path)"), encoding: .utf8)
    }

    /// The example is built and run by `scripts/check consumer`, so that this text is known to compile.
    @Test func embeddedTargetMatchesTheExample() throws {
        let lock = try DumpsDirectory(example.appending(path: "dumps").path).lockFile()
        #expect(lock.collections.count == 2)
        let target = EmbeddedTarget(module: "EmbeddedDumps", dumps: "../../dumps", lock: lock)
        #expect(try target.source == text("EmbeddedDumps/EmbeddedDumps.c"))
        #expect(try target.header == text("EmbeddedDumps/include/EmbeddedDumps.h"))
        #expect(try target.swift == text("offline-example/PackagedSource+EmbeddedDumps.swift"))
    }

    /// The index as `<module>_index` has it, and `<module>_bundle`.
    private typealias Index = (
        lock: UnsafePointer<UInt8>, lockSize: Int, bundles: UnsafePointer<Bundle>, bundleCount: Int
    )
    private typealias Bundle = (collection: UnsafePointer<CChar>, bytes: UnsafePointer<UInt8>, size: Int)

    @Test func embeddedTargetCompilesAndServes() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "embed-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let sources = folder.appending(path: "Sources/AppDumps")
        let dumps = folder.appending(path: "dumps")
        try FileManager.default.createDirectory(
            at: sources.appending(path: "include"), withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: example.appending(path: "dumps"), to: dumps)
        let lock = try DumpsDirectory(dumps.path).lockFile()
        let target = EmbeddedTarget(module: "AppDumps", dumps: "../../dumps", lock: lock)
        try Data(target.source.utf8).write(to: sources.appending(path: "AppDumps.c"))
        try Data(target.header.utf8).write(to: sources.appending(path: "include/AppDumps.h"))
        let library = folder.appending(path: "libAppDumps.so").path
        let dependencies = folder.appending(path: "AppDumps.d")
        let compiler = try compile(
            [
                "-shared", "-fPIC", "-Wall", "-Werror", "-Iinclude", "-MD", "-MF", dependencies.path, "-o", library,
                "AppDumps.c",
            ], in: sources)
        #expect(compiler.status == 0, "\(compiler.messages)")
        let old = try compile(
            ["-U__has_embed", "-Wno-builtin-macro-redefined", "-Iinclude", "-fsyntax-only", "AppDumps.c"], in: sources)
        #expect(old.status != 0)
        #expect(old.messages.contains("no #embed (C23); build with Swift 6.3 or newer"), "\(old.messages)")
        // Nothing else is said, which would hide it.
        #expect(old.messages.contains("1 error generated"), "\(old.messages)")

        // What the compiler notes as read is compiled in again when it changes.
        let noted = try String(contentsOf: dependencies, encoding: .utf8)
        for name in ["dumps.lock.json", "main/markets.zip", "main/search-hints.zip"] {
            #expect(noted.contains("../../dumps/\(name)"))
        }

        let image = try unsafe #require(dlopen(library, RTLD_NOW | RTLD_LOCAL))
        defer { unsafe _ = dlclose(image) }
        let symbol = try unsafe #require(dlsym(image, "AppDumps_contents"))
        let contents = unsafe unsafeBitCast(symbol, to: (@convention(c) () -> UnsafeRawPointer).self)
        let index = unsafe contents().assumingMemoryBound(to: Index.self).pointee
        func file(_ name: String) throws -> Data { try Data(contentsOf: dumps.appending(path: name)) }
        #expect(try unsafe Data(bytes: index.lock, count: index.lockSize) == file("dumps.lock.json"))
        try #require(unsafe index.bundleCount == 2)
        for (number, name) in ["main/markets", "main/search-hints"].enumerated() {
            let bundle = unsafe index.bundles[number]
            #expect(unsafe String(cString: bundle.collection) == name)
            #expect(try unsafe Data(bytes: bundle.bytes, count: bundle.size) == file("\(name).zip"))
            let memory = unsafe BorrowedMemory(UnsafeRawBufferPointer(start: bundle.bytes, count: bundle.size)) { _ in }
            let reader = try BundleReader(bytes: Bytes(memory), name: name)
            let id = try CollectionID(name)
            #expect(reader.head.timestamp == lock.collections[id]?.timestamp)
        }
    }

    /// Runs the C compiler of the Swift toolchain, which packages are built with, whatever else is called `clang` in
    /// `PATH`.
    private func compile(_ arguments: [String], in folder: URL) throws -> (status: Int32, messages: String) {
        let information = try run(URL(filePath: "/usr/bin/env"), ["swift", "-print-target-info"], in: folder).messages
        let document = try JSONValue(parsing: Bytes(utf8: information))
        // …/usr/lib/swift
        let resources = URL(filePath: try #require(document["paths"]?["runtimeResourcePath"]?.string))
        let clang = resources.deletingLastPathComponent().deletingLastPathComponent().appending(path: "bin/clang")
        return try run(clang, arguments, in: folder)
    }

    private func run(_ program: URL, _ arguments: [String], in folder: URL) throws -> (status: Int32, messages: String)
    {
        let process = Process()
        let output = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let messages = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: messages, as: UTF8.self))
    }
}
