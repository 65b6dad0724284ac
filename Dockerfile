# llmload and its shipped scenarios in a small image: the same packages as on a machine, from the same lock file.
# The build needs no BuildKit, so that docker-compose 1.29 can do it too.
FROM python:3.11.13-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /opt/llmload
COPY requirements.lock .
RUN /opt/llmload/bin/python -m pip install --quiet --no-cache-dir --no-deps -r requirements.lock
COPY . .
RUN /opt/llmload/bin/python -m pip install --quiet --no-cache-dir --no-deps . \
 && /opt/llmload/bin/python -m pip uninstall --quiet --yes pip setuptools

FROM python:3.11.13-slim-bookworm
COPY --from=build /opt/llmload /opt/llmload
COPY locustfiles /locustfiles
# What writes outside of run folders (matplotlib's list of fonts) finds a place where the image itself is read-only.
ENV PATH=/opt/llmload/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1
WORKDIR /tmp
USER 1000:1000
ENTRYPOINT ["llmload"]
