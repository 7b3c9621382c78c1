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
        Exit codes (the help of a command lists its own, if they differ):
          0  success
          1  some collections failed, and the others succeeded;
             or the server's list of collections cannot be used
          2  invalid usage, configuration or input
          3  verification failed
          4  the server asked clients to wait; the error states for how long
          5  the server cannot be reached, drops connections, or returns an
             error (5xx without Retry-After)
          6  something would change, but changes are forbidden (--locked,
             embed --check)
          7  a file cannot be read or written (the disk is full, for example),
             or another rsdump is using the directory; try again later
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
