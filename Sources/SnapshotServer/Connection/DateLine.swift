import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import Synchronization

/// The last lines of a head: the time of day (RFC 9110 §6.6.1), and whether the connection goes on. Made once a second.
enum DateLine {
    private struct Lines {
        var second: UInt64 = .max
        var keepAlive = ByteBuffer()
        var close = ByteBuffer()
        var oldKeepAlive = ByteBuffer()
    }

    private static let lines = Mutex(Lines())

    /// - Parameter isOldHTTP: HTTP/1.0 closes unless the answer says otherwise; HTTP/1.1 is the other way round.
    static func current(_ now: Timestamp, keepsAlive: Bool, isOldHTTP: Bool) -> ByteBuffer {
        lines.withLock { lines in
            if lines.second != now.seconds {
                let date = "Date: \(HTTPDate.text(now))\r\n"
                lines = Lines(
                    second: now.seconds, keepAlive: ByteBuffer(string: "\(date)\r\n"),
                    close: ByteBuffer(string: "\(date)Connection: close\r\n\r\n"),
                    oldKeepAlive: ByteBuffer(string: "\(date)Connection: keep-alive\r\n\r\n"))
            }
            if !keepsAlive { return lines.close }
            return isOldHTTP ? lines.oldKeepAlive : lines.keepAlive
        }
    }
}

extension SocketAddress {
    var isLoopback: Bool {
        guard let text = ipAddress else { return false }
        return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
    }
}
