// An app that imports this module gets the service and its configuration as well.
@_exported import RemoteSettings
