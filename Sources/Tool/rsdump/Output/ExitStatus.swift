import ArgumentParser
import Dumps

extension ExitStatus {
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

    var code: ExitCode { ExitCode(rawValue) }
}
