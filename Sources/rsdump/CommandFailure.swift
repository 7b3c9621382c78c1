import ArgumentParser
import ContentSignature
import Dumps
import FileStorage
import Publish
import RemoteSettingsHTTP
import SigningKeys
import SnapshotBundle
import SnapshotDiff
import SnapshotExchange
import SnapshotHistory
import SnapshotServer
import SnapshotSources
import StaticMirror

/// An error that ends a command, with a message and an exit code.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// The exit code of an error that a library threw.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as HTTPError:
            let status: ExitStatus =
                switch error.category {
                case .usage: .usage
                case .backoff: .backoff
                case _ where error.isNetworkFailure: .unreachable
                case .unreachable, .answer, .cancelled: .someFailed
                }
            self.init(status, "\(error)")
        case let error as FileError where error.isWrongKind: self.init(.usage, "\(error)")
        case let error as ConfigurationError: self.init(.usage, "\(error)")
        case let error as SourceProblems: self.init(.usage, "\(error)")
        case let error as DumpsError:
            if case .emptyMonitor = error { self.init(.someFailed, "\(error)") } else { self.init(.usage, "\(error)") }
        case let error as PinError:
            switch error {
            case .nothingHeld, .several: self.init(.usage, "\(error)")
            case .notVouchedFor, .elsewhere: self.init(.verificationFailed, "\(error)")
            case .notFound, .unmet, .overdue: self.init(.someFailed, "\(error)")
            }
        case let error as HistoryError:
            switch error {
            case .noGit, .noRepository, .noRevision, .noPlace, .invalidPath: self.init(.usage, "\(error)")
            case .bundle(let error) where error.kind == .unreadable: self.init(.usage, "\(error)")
            case .bundle(let error): self.init(error)
            case .git, .overLimit, .file: self.init(.someFailed, "\(error)")
            }
        case let error as DiffError: self.init(.usage, "\(error)")
        case let error as ServerError: self.init(.usage, "\(error)")
        case let error as MirrorError:
            self.init(error.isUsage ? .usage : .someFailed, "\(error)")
        case let error as ExchangeError:
            self.init(error.kind == .unverified ? .verificationFailed : .usage, "\(error)")
        case let error as PublishError:
            if case .damaged = error {
                self.init(.verificationFailed, "\(error)")
            } else {
                self.init(.usage, "\(error)")
            }
        case let error as SigningKeyError:
            self.init(error.kind == .untrusted ? .verificationFailed : .usage, "\(error)")
        case let error as ContentSignatureError: self.init(.verificationFailed, "\(error)")
        case let error as BundleError where error.kind == .wrongSource || error.kind == .overLimit:
            self.init(.usage, "\(error)")
        case let error as BundleError where error.kind == .unknownVersion: self.init(.usage, "\(error)")
        case let error as BundleError where error.kind == .unwritable:
            self.init(.someFailed, "\(error)")
        case let error as BundleError: self.init(.verificationFailed, "\(error)")
        default: self.init(.someFailed, "\(error)")
        }
    }
}

/// Runs a command's work. Prints an error that it throws to standard error, and ends with the error's exit code.
func running(_ work: () async throws -> Void) async throws {
    do {
        try await work()
    } catch let exit as ExitCode {
        throw exit
    } catch let error as SourceProblems {
        for problem in error.problems { Console.error("rsdump: \(Console.visible("\(problem)"))") }
        throw CommandFailure(error).status.code
    } catch {
        let failure = CommandFailure(error)
        Console.error("rsdump: \(Console.visible("\(failure)"))")
        throw failure.status.code
    }
}
