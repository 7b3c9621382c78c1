import RemoteSettings
import Testing
