import ContentSigning
import RemoteSettingsModel

extension SigningKeyError: CodedError {
    package var code: FailureCode {
        switch kind {
        case .usage: .usage
        case .untrusted: .untrusted
        case .busy: .busy
        }
    }
}
