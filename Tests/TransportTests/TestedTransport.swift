import AsyncHTTPTransport
import CurlTransport
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The transports that have to behave alike.
enum TestedTransport: String, CaseIterable, Codable {
    case asyncHTTPClient
    case curl

    func make(_ limits: Limits) -> any HTTPTransport {
        switch self {
        case .asyncHTTPClient: AsyncHTTPClientTransport(limits: limits)
        case .curl: CurlTransport()
        }
    }
}
