// An app that imports this module has the service and its configuration as well.
@_exported import RemoteSettings
