import ArgumentParser
import RemoteSettingsModel

/// The tool's exit codes.
enum ExitStatus: Int32 {
    case done = 0
    case someFailed = 1
    case usage = 2
    case verificationFailed = 3
    case backoff = 4
    case unreachable = 5
    case wouldChange = 6
    case tryAgain = 7

    static let help = """
        Exit codes (a command's help has its own, if they differ):
          0  done
          1  some collections failed, the others are done;
             or the server's list of collections cannot be used
          2  bad usage, configuration or input
          3  verification failed
          4  the server asked to wait; the error says how many seconds
          5  the server cannot be reached, breaks off its answers, or answers
             with an error of its own (5xx without Retry-After)
          6  something would change although nothing may (--locked,
             embed --check)
          7  a file cannot be read or written, as on a full disk, or another
             rsdump is working in the directory; run the command again later
        """

    /// Creates the exit code for an error's failure code.
    init(_ code: FailureCode) {
        self =
            switch code {
            case .usage, .invalidName, .unknownVersion, .overLimit: .usage
            case .malformed, .damaged, .untrusted, .certificate: .verificationFailed
            case .backoff: .backoff
            case .unreachable, .tls, .broken, .timeout, .status(500...599): .unreachable
            case .busy, .storage: .tryAgain
            case .missing, .rollback, .refused, .redirect, .status, .content, .program, .cancelled, .closed: .someFailed
            }
    }

    var code: ExitCode { ExitCode(rawValue) }
}
