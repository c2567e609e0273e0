"""The function of the revision, SQLAlchemy, a real server ($PG_URL), and a commit that fails."""
import importlib.util
import os
import sys
import types

import sqlalchemy
from sqlalchemy import orm


class FailingSession(orm.Session):
    def commit(self):
        raise sqlalchemy.exc.OperationalError("COMMIT", {}, Exception("the pooler gave up"))


class Base(orm.DeclarativeBase):
    pass


class EmailTeamMember(Base):
    __tablename__ = "email_team_members"
    team_id = orm.mapped_column(sqlalchemy.String, primary_key=True)
    user_email = orm.mapped_column(sqlalchemy.String, primary_key=True)
    is_active = orm.mapped_column(sqlalchemy.Boolean)


ENGINE = sqlalchemy.create_engine(os.environ["PG_URL"].replace(":", "+psycopg2:", 1), pool_size=50)
with ENGINE.begin() as connection:
    Base.metadata.create_all(connection)


def get_db():
    yield FailingSession(ENGINE)


class Anything:
    """Stands for what the module imports and this function does not use."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args, **kwargs):
        return Anything()


def stub(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


for package in ("fastapi", "mcpgateway", "mcpgateway.services", "mcpgateway.utils"):
    stub(package, HTTPException=Exception, Request=object, status=Anything())
stub("fastapi.security", HTTPBearer=Anything())
stub("mcpgateway.db", Permissions=Anything(), EmailTeamMember=EmailTeamMember, get_db=get_db)
stub("mcpgateway.services.logging_service", LoggingService=Anything())
stub("mcpgateway.utils.orjson_response", ORJSONResponse=object)
stub("mcpgateway.utils.verify_credentials", verify_jwt_token_cached=Anything())
spec = importlib.util.spec_from_file_location("token_scoping", "mcpgateway/middleware/token_scoping.py")
token_scoping = importlib.util.module_from_spec(spec)
spec.loader.exec_module(token_scoping)


def test_team_membership():
    middleware = token_scoping.TokenScopingMiddleware()
    try:
        middleware._check_team_membership({"sub": "a@example.org", "teams": ["t1"]})
    except sqlalchemy.exc.OperationalError:
        pass
    else:
        raise AssertionError("the commit did not fail")
