import RemoteSettingsModel
import SnapshotBundle
import Subprocess

/// An external program that is run with limits on its output and its time.
package struct ExternalProgram: Sendable {
    package struct Finished: Sendable {
        /// The exit code.
        package let status: Int32
        package let output: [UInt8]
        /// The standard error output.
        let errors: String

        /// The last lines of the standard error output, where programs print the reason for a failure, shortened for an
        /// error message. If there are none, a clause that states the exit code.
        package var reason: String {
            let lines = errors.split(whereSeparator: \.isNewline).suffix(4).joined(separator: "; ")
            return lines.isEmpty ? "it exited with code \(status)" : String(lines.suffix(700))
        }
    }

    private let executable: Executable
    private let arguments: Arguments
    private let environment: Environment
    private let options: PlatformOptions
    /// Waits until the time limit is over.
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Prepares to run a program found on the `PATH`, without a shell.
    ///
    /// - Parameter environment: its environment variables; `nil` for those of this process.
    init(_ name: String, _ arguments: [String], environment: [String: String]? = nil) {
        executable = .name(name)
        self.arguments = Arguments(arguments)
        self.environment =
            environment.map { variables in
                var kept: [Environment.Key: String] = [:]
                for (name, value) in variables { Environment.Key(rawValue: name).map { kept[$0] = value } }
                return .custom(kept)
            } ?? .inherit
        options = PlatformOptions()
        sleep = { try await Task.sleep(for: $0) }
    }

    /// Prepares to run a shell command, with this process's environment variables but without its terminal. If it is
    /// stopped, for example at the time limit, the processes in its group are killed too.
    package init(
        shell command: String,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        executable = .path("/bin/sh")
        arguments = ["-c", command]
        environment = .inherit
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [.gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: .seconds(1))]
        self.options = options
        self.sleep = sleep
    }

    /// Runs the program.
    ///
    /// - Parameters:
    ///   - input: its standard input; `nil` for that of this process.
    ///   - mostOutput: the maximum number of bytes of standard output.
    ///   - seconds: the time limit; `nil` for no limit.
    /// - Throws: ``Failure`` with the code `missing` if the program is not on the `PATH`, `overLimit` if its output
    ///   is too large, `timeout` or `program` if it was stopped or cannot run, or the code of a failed file operation.
    package func run(input: Bytes?, mostOutput: Int, seconds: Int?) async throws(Failure) -> Finished {
        try await run(input, seconds) { input, started in
            let result = try await Subprocess.run(
                executable, arguments: arguments, environment: environment, platformOptions: options, input: input,
                output: .sequence, error: .sequence
            ) { execution in
                started.record(execution)
                async let errors = Self.end(of: execution.standardError)
                let output = try await Self.all(of: execution.standardOutput, most: mostOutput)
                return (output, try await errors)
            }
            guard case .exited(let status) = result.terminationStatus else { throw Failure.endedBySignal }
            return Finished(status: status, output: result.closureResult.0, errors: result.closureResult.1)
        }
    }

    /// Returns the bytes of a stream; throws if there are more than `most`.
    private static func all(of stream: SubprocessOutputSequence, most: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in stream {
            unsafe piece.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
            guard bytes.count <= most else { throw Failure.outputTooLarge }
        }
        return bytes
    }

    /// Reads a whole stream, and returns its last bytes.
    private static func end(of stream: SubprocessOutputSequence) async throws -> String {
        let most = 64 << 10
        var last: [UInt8] = []
        for try await piece in stream {
            unsafe piece.withUnsafeBytes { unsafe last.append(contentsOf: $0) }
            if last.count > 2 * most { last.removeFirst(last.count - most) }
        }
        return String(decoding: last, as: UTF8.self)
    }

    /// Runs the program. Its output goes to the standard error of this process.
    ///
    /// - Parameters:
    ///   - input: its standard input.
    ///   - seconds: the time limit.
    /// - Returns: its exit code.
    package func runVisibly(input: Bytes, seconds: Int) async throws(Failure) -> Int32 {
        try await run(input, seconds) { input, started in
            let result = try await Subprocess.run(
                executable, arguments: arguments, environment: environment, platformOptions: options, input: input,
                output: .currentStandardError, error: .currentStandardError, body: { started.record($0) })
            guard case .exited(let status) = result.terminationStatus else { throw Failure.endedBySignal }
            return status
        }
    }

    private func run<Value: Sendable>(
        _ input: Bytes?, _ seconds: Int?,
        _ body: @escaping @Sendable (FileDescriptorInput, StartedProcess) async throws -> Value
    ) async throws(Failure) -> Value {
        let descriptor = try Self.descriptor(for: input)
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        let started = StartedProcess()
        guard let seconds else { return try await Self.outcome(descriptor, started, body).get() }
        let first = await withTaskGroup(of: Result<Value, Failure>.self) { group in
            group.addTask { await Self.outcome(descriptor, started, body) }
            group.addTask { [sleep] in
                let isOver = (try? await sleep(.seconds(seconds))) != nil
                return .failure(isOver ? .late(seconds: seconds) : .programFailed("it was cancelled"))
            }
            let first = await group.next()
            group.cancelAll()
            return first
        }
        // Subprocess ends its teardown when the shell has exited. Kill the other processes in the group, which may have
        // ignored SIGTERM.
        if options.createSession, case .failure = first { started.killGroup() }
        return try (first ?? .failure(.late(seconds: seconds))).get()
    }

    /// Opens a file that contains the input. If it were a pipe, a program that does not read all of its input would
    /// cause a SIGPIPE, which kills this process.
    private static func descriptor(for input: Bytes?) throws(Failure) -> Int32 {
        guard let input else { return STDIN_FILENO }
        return try FileStore.openUnnamedFile(with: input)
    }

    private static func outcome<Value>(
        _ descriptor: Int32, _ started: StartedProcess,
        _ body: (FileDescriptorInput, StartedProcess) async throws -> Value
    ) async -> Result<Value, Failure> {
        do {
            let input = FileDescriptorInput.fileDescriptor(
                .init(rawValue: descriptor), closeAfterSpawningProcess: false)
            return .success(try await body(input, started))
        } catch let error as Failure {
            return .failure(error)
        } catch let error as SubprocessError {
            switch error.code {
            case .executableNotFound: return .failure(.programNotFound)
            case .outputLimitExceeded: return .failure(.outputTooLarge)
            default: return .failure(.programFailed("\(error)"))
            }
        } catch {
            return .failure(.programFailed("\(error)"))
        }
    }
}

/// The started process, kept so that its process group can be killed.
private final class StartedProcess: Sendable {
    private let identifier = Mutex<Int32?>(nil)

    func record(_ execution: Execution<some InputProtocol, some OutputProtocol, some OutputProtocol>) {
        identifier.withLock { $0 = execution.processIdentifier.value }
    }

    func killGroup() {
        if let identifier = identifier.withLock({ $0 }) { kill(-identifier, SIGKILL) }
    }
}

// Reasons why a run has no result. A nonzero exit code is a result.
extension Failure {
    /// An error for a program that is not on the `PATH`.
    fileprivate static let programNotFound = Self(.missing, problem: "it is not on the PATH")
    fileprivate static let outputTooLarge = Self(.overLimit, problem: "its output is too large")
    fileprivate static let endedBySignal = Self(.program, problem: "it was killed by a signal")

    /// Returns an error for a program that was stopped because it took too long.
    fileprivate static func late(seconds: Int) -> Self {
        Self(.timeout, problem: "it was stopped because it took longer than \(Counted.text(seconds, "second"))")
    }

    /// Returns an error for a program that could not be run.
    ///
    /// - Parameter problem: the message of the system or the program.
    package static func programFailed(_ problem: String) -> Self { Self(.program, problem: problem) }
}
