import Foundation

/// The program `test-process`, which tests start. It is beside the tests' own program.
enum TestProcess {
    static var url: URL {
        #if os(macOS)
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        return tests.deletingLastPathComponent().appending(path: "test-process")
        #else
        return Bundle.main.bundleURL.appending(path: "test-process")
        #endif
    }
}
